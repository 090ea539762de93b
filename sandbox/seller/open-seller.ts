import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createNetworks, tokenOf } from '../../src/chains/network.ts';
import type { Logger } from '../../src/kernel/log/logger.ts';
import type { HostAndPort } from '../../src/kernel/outgoing/private-hosts.ts';
import { homeChain } from '../../src/money/catalogue.ts';
import { encodeHeader, headerNames } from '../../src/x402/wire/header.ts';
import { networkName } from '../../src/x402/wire/messages.ts';
import { sellerAccount } from '../accounts.ts';
import type { LocalChains } from '../chains/local-chains.ts';
import { closeServer, listenLocally } from '../local-server.ts';
import { createTaking } from './take-payment.ts';

/** A reserved name (RFC 2606), so that no real seller is meant. */
const domain = 'demo-seller.example';

/** One cent. */
const price = 10_000n;

const weathers = ['sunny', 'cloudy', 'windy', 'rain', 'fog', 'snow'] as const;

export type SandboxSeller = Awaited<ReturnType<typeof openSeller>>;

/** Sells forecasts over x402, versions 1 and 2, on any free port. It submits the payment on chain before it answers. */
export async function openSeller(chains: LocalChains, logger: Logger) {
  const network = createNetworks(chains.settings).get(homeChain);
  const token = network && tokenOf(network, 'USDC');
  const [rpcUrl] = chains.settings.get(homeChain)?.urls ?? [];
  if (network === undefined || token === undefined || rpcUrl === undefined)
    throw new Error('there is nothing to be paid in');
  const take = createTaking({ network, token, rpcUrl, faucet: chains.faucet });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', `http://${domain}`);
    if (url.pathname !== '/forecast') return send(response, 404, { error: 'Only /forecast is sold here.' });
    const taken = await take(request.headers, price);
    const receipt = taken && { [headerNames[taken.version].receipt]: encodeHeader(taken.receipt) };
    if (!taken?.receipt.success) {
      const { required, body } = demand(url.href, taken?.receipt.errorReason ?? 'A payment is required');
      return send(response, 402, body, { [headerNames[2].required]: encodeHeader(required), ...receipt });
    }
    const city = url.searchParams.get('city') ?? 'Lisbon';
    const tomorrow =
      weathers[[...city].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0) % weathers.length];
    return send(response, 200, { city, tomorrow }, receipt);
  }

  /** The payment requirements in both versions. */
  function demand(resource: string, error: string) {
    const description = 'Tomorrow’s weather';
    const common = {
      scheme: 'exact',
      asset: token?.address,
      payTo: sellerAccount.address,
      maxTimeoutSeconds: 300,
      extra: { name: 'USD Coin', version: '2' },
    };
    return {
      required: {
        x402Version: 2,
        error,
        resource: { url: resource, description, mimeType: 'application/json' },
        accepts: [{ ...common, network: networkName(homeChain, 2), amount: String(price) }],
      },
      body: {
        x402Version: 1,
        error,
        accepts: [
          {
            ...common,
            network: networkName(homeChain, 1),
            maxAmountRequired: String(price),
            resource,
            description,
            mimeType: 'application/json',
          },
        ],
      },
    };
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((err: unknown) => {
      logger.error({ err }, 'the seller of forecasts could not answer');
      send(response, 500, { error: 'The weather is unknown.' });
    });
  });
  const port = await listenLocally(server, 0);
  return {
    /** Under a name that only the address guard resolves. */
    url: `http://${domain}/forecast`,
    names: new Map<string, HostAndPort>([[domain, { host: '127.0.0.1', port }]]),
    stop: () => closeServer(server),
  };
}

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response
    .writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store', ...headers })
    .end(JSON.stringify(body));
}
