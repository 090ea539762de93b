import { connect, type Socket } from 'node:net';

export type TransferAs = 'request' | 'guarded request' | 'tool' | 'tool of an older protocol';

/**
 * Sends the same kind of request over many connections, each waiting for its answer before the next. It writes bytes and
 * reads a status line, no more, because it shares the machine with what it measures. Runs as a child process.
 */
export interface LoadOrder {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  readonly path: string;
  /** Who pays and whom, picked at random; empty for a handler that needs neither. */
  readonly payers: readonly { readonly key: string; readonly handle: string }[];
  /** Instead of a time: every payer pays once, in turn, so that whatever is remembered of them is remembered. */
  readonly everybodyOnce?: boolean;
  /** A GET says everything in its path. */
  readonly method?: 'GET' | 'POST';
  /** How a transfer is asked for. The guard against repetitions is always on for a tool. */
  readonly as?: TransferAs;
  /** Instead of a key: payments, of which each is sent once. */
  readonly payments?: readonly string[];
  /** Makes the idempotency keys of one run differ from those of every other. */
  readonly runId: string;
}

export interface LoadReport {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** All that were answered well, those of the warm-up too. */
  readonly answers: number;
  readonly failures: number;
  readonly firstFailure: string | undefined;
}

const warmUpSeconds = 1;

const accepts = 'Accept: application/json, text/event-stream\r\n';
const older = 'MCP-Protocol-Version: 2025-06-18\r\n';
const newestHeaders = 'MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: send_money\r\n';
/** What a client of the newest protocol sends with each request. */
const newest = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

function run(order: LoadOrder): Promise<LoadReport> {
  const latencies: number[] = [];
  const start = performance.now() + warmUpSeconds * 1000;
  const end = start + order.seconds * 1000;
  let answers = 0;
  let failures = 0;
  let firstFailure: string | undefined;
  let sequence = 0;

  const { payers, everybodyOnce = false, as = 'request' } = order;

  const isTool = as.startsWith('tool');

  function nextRequest(): string {
    if (order.payments !== undefined) {
      const payment = order.payments[sequence++];
      if (payment === undefined) throw new Error('there are too few payments for a run');
      return `GET ${order.path} HTTP/1.1\r\nHost: bench\r\nPAYMENT-SIGNATURE: ${payment}\r\n\r\n`;
    }
    const from = everybodyOnce ? sequence : Math.floor(Math.random() * payers.length);
    const to = everybodyOnce ? from + 1 : from + 1 + Math.floor(Math.random() * (payers.length - 1));
    const [payer, payee] = [payers[from % payers.length], payers[to % payers.length]];
    sequence++;
    if (order.method === 'GET') {
      return `GET ${order.path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${payer?.key}\r\n\r\n`;
    }
    if (payer === undefined || payee === undefined) return post('', '{"amount":1}');
    const key = `${order.runId}-${sequence}`;
    const identity = `Authorization: Bearer ${payer.key}\r\n`;
    if (as === 'request') {
      return post(`${identity}Idempotency-Key: ${key}\r\n`, `{"to":"${payee.handle}","amount":1,"currency":"USDC"}`);
    }
    // No two are alike for the guard.
    const payment = {
      to: payee.handle,
      amount: `1.${String(sequence % 1_000_000).padStart(6, '0')}`,
      currency: 'USDC',
    };
    if (as === 'guarded request') {
      return post(`${identity}Idempotency-Key: ${key}\r\nDuplicate-Guard: on\r\n`, JSON.stringify(payment));
    }
    const isOlder = as === 'tool of an older protocol';
    const call = {
      name: 'send_money',
      arguments: { ...payment, idempotencyKey: key },
      ...(isOlder ? {} : { _meta: newest }),
    };
    return post(
      `${identity}${accepts}${isOlder ? older : newestHeaders}`,
      JSON.stringify({ jsonrpc: '2.0', id: sequence, method: 'tools/call', params: call }),
    );
  }

  function post(headers: string, body: string): string {
    return `POST ${order.path} HTTP/1.1\r\nHost: bench\r\n${headers}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  }

  function drive(socket: Socket): Promise<void> {
    return new Promise((resolve, reject) => {
      let sentAt = 0;
      let buffered = '';
      const send = () => {
        sentAt = performance.now();
        socket.write(nextRequest());
      };
      socket.setNoDelay(true);
      socket.on('connect', send);
      socket.on('error', reject);
      socket.on('data', (chunk) => {
        buffered += chunk.toString('latin1');
        const headEnd = buffered.indexOf('\r\n\r\n');
        if (headEnd === -1) return;
        const length = Number(/content-length: (\d+)/i.exec(buffered)?.[1] ?? 0);
        if (buffered.length < headEnd + 4 + length) return;
        if (/transfer-encoding: chunked/i.test(buffered) && !buffered.endsWith('\r\n0\r\n\r\n')) return;
        const now = performance.now();
        if (!buffered.startsWith('HTTP/1.1 200') || (isTool && !buffered.includes('"status":"complete"'))) {
          failures++;
          firstFailure ??= buffered;
        } else {
          answers++;
          if (sentAt >= start && now <= end) latencies.push(now - sentAt);
        }
        buffered = '';
        if (everybodyOnce ? sequence < payers.length : now < end) send();
        else socket.end(() => resolve());
      });
    });
  }

  const sockets = Array.from({ length: order.connections }, () => drive(connect(order.port, '127.0.0.1')));
  return Promise.all(sockets).then(() => {
    latencies.sort((a, b) => a - b);
    const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
    return {
      perSecond: latencies.length / order.seconds,
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      answers,
      failures,
      firstFailure,
    };
  });
}

process.once('message', (order: LoadOrder) => {
  run(order).then(
    (report) => process.send?.(report, () => process.disconnect()),
    (error) => {
      process.stderr.write(`${error}\n`);
      process.exit(1);
    },
  );
});
