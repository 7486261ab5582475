// The room's code comes here.
