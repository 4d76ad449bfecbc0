// Package drover is Drover's SDK for Go: a [Client] starts runs and reads their state, an [Agent]
// performs their steps. The SDK contains no workflow logic: the server decides which step comes
// next.
//
// Requests use the types of this package. Answers of the server are messages of the contract, from
// package droverpb, whose comments are their reference.
//
// All functions and types may be used by several goroutines at a time.
package drover
