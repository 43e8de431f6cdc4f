// A library of headers alone has one file to compile.
