import Fastify from 'fastify';

/** What the framework itself costs: a POST with a JSON body and an answer of about the size of a transfer's. */
const app = Fastify();
app.post('/empty', async () => ({
  transferId: 'trf_01kp3v2m8rfk2s6y0e6v9q4w1x',
  status: 'complete',
  amount: 1,
  fee: 0.01,
  recipientAmount: 0.99,
  currency: 'USDC',
}));
await app.listen({ port: 0, host: '127.0.0.1', backlog: 1024 });
const address = app.server.address();
process.send?.({ port: typeof address === 'object' ? address?.port : 0 });
process.on('disconnect', () => process.exit());
