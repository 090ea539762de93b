import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

import { generatePage, knownPages } from '../test/support/hostile-pages.ts';

/** Three shops: one that answers at once, one that takes every question and never answers any, and one whose pages are made to hurt. */
const products = ['Mug', 'Mug, blue', 'Tall mug'].map((name, index) => ({
  id: index + 1,
  name,
  permalink: `/product/${index}`,
  brands: [{ name: 'Bench' }],
  prices: { price: '2400', currency_code: 'USD', currency_minor_unit: 2, currency_prefix: '$' },
}));

const quick = await listen((request, response) => {
  const found = request.url?.startsWith('/wp-json/wc/store/v1/products') === true;
  response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' });
  response.end(found ? JSON.stringify(products) : '{}');
});
const slow = await listen((request, response) => {
  if (request.url === '/robots.txt') response.writeHead(404).end();
});

const pages = [...Object.values(knownPages), ...Array.from({ length: 200 }, (_, seed) => generatePage(seed))];
let shown = 0;
const hostile = await listen((request, response) => {
  if (request.url === '/robots.txt') return response.writeHead(404).end();
  const { type, text } = pages[shown++ % pages.length] ?? { type: '', text: '' };
  return response.writeHead(200, { 'content-type': type }).end(text);
});

process.on('message', () => process.send?.({ open: slow.open.size }));
process.on('disconnect', () => process.exit());
process.send?.({ quick: quick.port, slow: slow.port, hostile: hostile.port });

async function listen(listener: RequestListener): Promise<{ port: number; open: Set<Socket> }> {
  const open = new Set<Socket>();
  const server = createServer(listener);
  server.on('connection', (socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 1_024 }, resolve));
  return { port: (server.address() as AddressInfo).port, open };
}
