import { createSecureContext } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import { createOutgoing, type OutgoingOptions } from '../../../src/kernel/outgoing/outgoing.ts';
import { createCertificate } from '../../support/certificate.ts';
import { gate } from '../../support/gate.ts';
import { listenTcp, listenTls } from '../../support/listening.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function open(options: Partial<OutgoingOptions> = {}) {
  const outgoing = createOutgoing({ allowPrivateHosts: [], ...options });
  closers.push(() => outgoing.close());
  return outgoing;
}

function closing<Part extends { close(): Promise<unknown> }>(part: Part): Part {
  closers.push(() => part.close());
  return part;
}

describe('TLS', () => {
  const certificate = createCertificate(['shop.example.com']);

  async function openShop(names: readonly string[], ca?: string) {
    const seen: (string | undefined)[] = [];
    const server = closing(
      await listenTls(certificate, (request, response) => {
        seen.push(request.headers.host);
        response.end('welcome');
      }),
    );
    const place = { host: '127.0.0.1', port: server.port };
    const outgoing = open({ names: new Map(names.map((name) => [name, place])), ...(ca !== undefined && { ca }) });
    return { outgoing, seen, place };
  }

  test('the certificate is checked against the name, though a number is dialled', async () => {
    const { outgoing, seen } = await openShop(['shop.example.com', 'other.example.com'], certificate.cert);
    const answer = await outgoing.request({ method: 'GET', url: 'https://shop.example.com/' });
    expect(answer.body.toString()).toBe('welcome');
    expect(seen).toEqual(['shop.example.com']);
    for (let attempt = 0; attempt < 3; attempt++) {
      await expect(outgoing.request({ method: 'GET', url: 'https://other.example.com/' })).rejects.toMatchObject({
        code: 'unreachable',
        message: "The host's certificate is for another name.",
      });
    }
    expect(seen).toHaveLength(1);
  });

  test('a certificate that nobody vouches for is refused, for the places of the operator too', async () => {
    const { outgoing, seen, place } = await openShop(['shop.example.com']);
    const self = { code: 'unreachable', message: "The host's certificate is self-signed." };
    await expect(outgoing.request({ method: 'GET', url: 'https://shop.example.com/' })).rejects.toMatchObject(self);
    const allowed = open({ allowPrivateHosts: [place] });
    await expect(allowed.request({ method: 'GET', url: `https://127.0.0.1:${place.port}/` })).rejects.toMatchObject(
      self,
    );
    expect(seen).toEqual([]);
  });

  test('what took too long to connect is not sent afterwards', async () => {
    const context = createSecureContext(certificate);
    const requests: unknown[] = [];
    const [tooLate, shaken] = [gate(), gate()];
    const server = closing(
      await listenTls(
        {
          ...certificate,
          SNICallback(_, done) {
            void tooLate.opened.then(() => {
              done(null, context);
              shaken.open();
            });
          },
        },
        (request, response) => {
          requests.push(request.url);
          response.end();
        },
      ),
    );
    const outgoing = open({
      names: new Map([['shop.example.com', { host: '127.0.0.1', port: server.port }]]),
      ca: certificate.cert,
    });
    const url = 'https://shop.example.com/';
    await expect(outgoing.request({ method: 'POST', url: `${url}late`, timeoutMs: 200 })).rejects.toMatchObject({
      code: 'timeout',
    });
    tooLate.open();
    await shaken.opened;
    await outgoing.request({ method: 'POST', url: `${url}patient` });
    expect(requests).toEqual(['/patient']);
  });

  test('a handshake that never ends is ended', async () => {
    const server = closing(await listenTcp(() => {}));
    const outgoing = open({ allowPrivateHosts: [{ host: '127.0.0.1', port: server.port }] });
    await expect(
      outgoing.request({ method: 'GET', url: `https://127.0.0.1:${server.port}/`, timeoutMs: 300 }),
    ).rejects.toMatchObject({ code: 'timeout' });
  });
});
