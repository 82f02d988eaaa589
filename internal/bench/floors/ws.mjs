// A minimal broadcast: a `ws` server that forwards a message to all other clients; `{"frames":N,"text":T}` is forwarded as N times T.
import { WebSocketServer } from '../peers/ws.mjs'

const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false })
server.on('listening', () => console.log(`port ${server.address().port}`))
server.on('connection', (socket) => {
  socket.on('message', (message) => {
    const said = message.toString()
    const { frames, text } = said.startsWith('{') ? JSON.parse(said) : { frames: 1, text: said }
    for (const other of server.clients) {
      if (other === socket) continue
      for (let frame = 0; frame < frames; frame++) other.send(text)
    }
  })
})
