import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { readBody } from '../chains/read-body.ts';
import type { AttestationService } from './attestation-service.ts';

/** Lets tests set the service's behaviour and read its counters. The real service has no such path. */
export const behaviourPath = '/attestation-behaviour';

/** The service shares its port with the chains. */
export function isForAttestations(request: IncomingMessage): boolean {
  const path = pathOf(request);
  return path.startsWith('/v2/') || path === behaviourPath;
}

export async function serveAttestations(
  service: AttestationService,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = (await readBody(request)) ?? '';
  if (pathOf(request) === behaviourPath) return sayBehaviour(service, { request, response, body });
  const answer = await service.answer(new URL(request.url ?? '/', 'http://attestations'));
  // The connection stays open until the client or the server closes it.
  if (answer === 'hang') return;
  if (answer === 'disconnect') {
    response.destroy();
    return;
  }
  const id = request.headers['x-request-id'] ?? randomUUID();
  response.writeHead(answer.status, { 'content-type': 'application/json', 'x-request-id': id }).end(answer.body);
}

interface BehaviourRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: string;
}

function sayBehaviour(service: AttestationService, { request, response, body }: BehaviourRequest): void {
  const say = (status: number, content: object) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content));
  };
  try {
    if (request.method === 'PUT') service.behave(JSON.parse(body));
    say(200, { behaviour: service.behaviour, asked: service.asked });
  } catch (error) {
    say(400, { code: 400, message: (error as Error).message });
  }
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.replace(/\?.*$/, '');
}
