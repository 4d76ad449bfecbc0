// Package drover is Drover's SDK for Go: a [Client] starts runs and asks after them, an [Agent]
// performs their steps. Nothing here decides what happens next: that is the server's.
//
// What a program says is said in the words of this package. What the server says is read from the
// messages of the contract, package droverpb, whose comments are its reference.
//
// Everything here may be used by several goroutines at a time.
package drover
