-- For wrk: posts batches of events made beforehand, as apps make them (about 450 bytes each).
-- After `--`: how many events a batch has, how many different batches there are, and how many milliseconds a connection
-- waits before each request (0: none).
-- The last line of its output is for the script that called it: requests answered with 200, other
-- answers and failures, seconds, and the 50th and 99th percentile of latency in microseconds.

local threads = {}
local random, pick = math.random, nil

function setup(thread)
  table.insert(threads, thread)
  thread:set("number", #threads)
end

function pick(list) return list[random(#list)] end

local function uuid()
  local function word() return string.format("%04x", random(0, 0xFFFF)) end
  return word() .. word() .. "-" .. word() .. "-4" .. word():sub(2) .. "-a" .. word():sub(2) .. "-" .. word() .. word()
    .. word()
end

local names = { "app_opened", "paywall_viewed", "purchase_completed", "trial_started", "level_completed" }
local products = { "pro_yearly", "pro_monthly", "lifetime_unlock" }
local currencies = { "USD", "EUR", "TRY", "GBP" }
local devices = { "iPhone16,2", "iPhone15,3", "iPad14,1" }
local locales = { "en_US", "tr_TR", "de_DE", "ja_JP" }

local function event(now)
  return string.format(
    '{"event_id":"%s","name":"%s","anonymous_id":"%s","user_id":"u_%d","occurred_at":"%s.%03dZ",'
      .. '"properties":{"product_id":"%s","price":%d.99,"currency":"%s","trial":%s,"placement":"onboarding","step":%d},'
      .. '"context":{"app_version":"2.%d.0","build":"%d","os_version":"18.%d","device_model":"%s","locale":"%s",'
      .. '"environment":"app_store"}}',
    uuid(), pick(names), uuid():upper(), random(10000, 99999),
    os.date("!%Y-%m-%dT%H:%M:%S", now - random(0, 3600)), random(0, 999), pick(products), random(1, 99),
    pick(currencies), random(2) == 1 and "true" or "false", random(1, 12), random(0, 9), random(100, 999), random(0, 6),
    pick(devices), pick(locales))
end

local pool, last = {}, 0

function init(arguments)
  local events, bodies = tonumber(arguments[1]), tonumber(arguments[2])
  local wait = tonumber(arguments[3] or 0)
  if wait > 0 then
    -- (With half of it at random, so that the connections don't march in step.)
    delay = function() return wait / 2 + random(0, wait) end
  end
  math.randomseed(number * 7919)
  local now = os.time()
  local headers = { ["Content-Type"] = "application/json", ["X-Write-Key"] = "aso_wk_bench" }
  for n = 1, bodies do
    local batch = {}
    for at = 1, events do batch[at] = event(now) end
    pool[n] = wrk.format("POST", "/v1/events", headers, '{"events":[' .. table.concat(batch, ",") .. "]}")
  end
  collectgarbage("collect")
end

function request()
  last = last % #pool + 1
  return pool[last]
end

function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.timeout
  print(string.format("RESULT %d %d %.3f %d %d", summary.requests - errors.status, errors.status + failed,
    summary.duration / 1e6, latency:percentile(50), latency:percentile(99)))
end
