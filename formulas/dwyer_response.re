// Response: every request is answered sooner or later
alphabet: request response idle
source: Dwyer, Avrunin and Corbett 1999, response pattern, global scope
accept: request response
accept: idle idle
reject: request
reject: request response request idle
// after the last response there is no request
(.* response)? idle*
