/// libyaml, as Swift sees it.
#ifndef CYAML_H
#define CYAML_H

#include <yaml.h>

#endif
