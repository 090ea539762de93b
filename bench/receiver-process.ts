import { createServer } from 'node:net';

/**
 * A webhook receiver that does as little as it can, because it shares the machine with what it measures: it reads a
 * request's length and answers. Runs as a child process; every message sets how many in a hundred it fails from then on,
 * and is answered with how many requests have come so far.
 */
let requests = 0;
let failPercent = 0;

const server = createServer((socket) => {
  let buffered = '';
  socket.setNoDelay(true);
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    buffered += chunk.toString('latin1');
    for (;;) {
      const headEnd = buffered.indexOf('\r\n\r\n');
      if (headEnd === -1) return;
      const length = Number(/content-length: (\d+)/i.exec(buffered)?.[1] ?? 0);
      if (buffered.length < headEnd + 4 + length) return;
      buffered = buffered.slice(headEnd + 4 + length);
      requests++;
      const status = Math.random() * 100 < failPercent ? '500 No' : '200 OK';
      socket.write(`HTTP/1.1 ${status}\r\nContent-Length: 2\r\n\r\nok`);
    }
  });
});

process.on('message', (message: { failPercent: number }) => {
  failPercent = message.failPercent;
  process.send?.({ requests });
});
process.on('disconnect', () => process.exit());
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.({ port: typeof address === 'object' ? address?.port : 0 });
});
