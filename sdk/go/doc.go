// Package drover is Drover's SDK for Go: a [Client] starts runs and reads their state, an [Agent]
// performs their steps. The SDK contains no workflow logic: the server decides which step comes
// next.
//
// Requests and answers have types of this package. Package droverpb, the generated code of the
// contract, is needed only for calls without a method of their own, see [Client.Conn].
//
// All functions and types may be used by several goroutines at a time.
package drover
