package serve

import (
	"mockserver/listener/compile"
	"mockserver/listener/protocol/wire"
)

// upgrade answers a request that asks for a declared WebSocket: it turns the connection into a
// WebSocket connection, or answers an invalid handshake with an error. It reports false for any
// other request.
func (s *Server) upgrade(sn *world, c *call) bool {
	conn, ok := c.peer.(*wire.Connection)
	if sn.Sockets == nil || !ok || conn == nil {
		return false
	}
	socket := sn.Sockets.Find(&c.Request)
	if socket == nil {
		return false
	}
	c.Trace.Counters = socket.Counters
	if socket.Accept(&c.Request, &c.Reply) {
		dialogue := s.Dialogues.New(socket, &c.Request, conn.Shard())
		conn.Leave(func() { dialogue.Run(conn, conn.Stream()) })
	}
	return true
}

// socketStopped logs that a template of a WebSocket was stopped. It returns the reason for the
// client.
func (s *Server) socketStopped(socket string, stopped error) (reason string) {
	f, err := s.unfinished(stopped)
	s.logServerError(f, &compile.Response{Name: socket}, err)
	return f.Title
}
