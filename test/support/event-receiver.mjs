// node event-receiver.mjs PORT FILE: a server that processes each event once. It appends an event to FILE before it acknowledges it, and
// acknowledges again what is in FILE already. Every request is a line on standard output.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';

const [port, file] = process.argv.slice(2);
// A line that a kill has cut off was not acknowledged.
const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
const processed = new Set(lines.map((line) => JSON.parse(line).headers['webhook-id']));

createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const id = request.headers['webhook-id'];
    process.stdout.write(`${id}\n`);
    if (!processed.has(id)) {
      const { headers } = request;
      const handle = openSync(file, 'a');
      writeSync(handle, `${JSON.stringify({ headers, body: Buffer.concat(chunks).toString('utf8') })}\n`);
      fsyncSync(handle);
      closeSync(handle);
      processed.add(id);
    }
    // Between the two, a kill leaves a processed event without an acknowledgement.
    setTimeout(() => response.end(), 10);
  });
}).listen(Number(port), '127.0.0.1', () => process.stdout.write('ready\n'));
