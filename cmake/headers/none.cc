// The one file to compile for a library that consists of headers only.
