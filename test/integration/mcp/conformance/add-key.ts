import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface KeyProxy {
  readonly url: string;
  /** Added to each request from then on. */
  key: string | undefined;
  close(): Promise<void>;
}

/** The conformance suites send no key. This proxy adds it, and passes everything else on as it is. */
export async function startKeyProxy(targetPort: number): Promise<KeyProxy> {
  const server = createServer((asked, answer) => {
    const { method, url: path, rawHeaders } = asked;
    const headers = proxy.key === undefined ? rawHeaders : [...rawHeaders, 'Authorization', `Bearer ${proxy.key}`];
    const sent = request({ host: '127.0.0.1', port: targetPort, method, path, headers }, (received) => {
      answer.writeHead(received.statusCode ?? 502, received.rawHeaders);
      received.pipe(answer);
    });
    sent.on('error', () => answer.destroy());
    answer.on('close', () => sent.destroy());
    asked.pipe(sent);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: KeyProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key: undefined,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  return proxy;
}
