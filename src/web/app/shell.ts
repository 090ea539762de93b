import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { recordAudit } from '../../accounts/audit/record.ts';
import { endAllSessions, endSession, findSession, type OwnerSession } from '../../accounts/sessions/owner-session.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Problem } from '../../kernel/http/problem.ts';
import { addressOf } from '../../kernel/http/request-guards.ts';
import { toProblem } from '../../kernel/http/send-problem.ts';
import { formPolicy } from '../content-policy.ts';
import { type Html, html, type Part } from '../html.ts';
import { layout, type PageContext, sayingPage, sendPrivate } from '../layout.ts';
import { type Fields, type FormParts, formField, readCookie, requireOwnForm, setCookie } from './forms.ts';

export interface ShellParts extends FormParts {
  readonly db: Database;
  readonly context: () => PageContext;
}

/** The places of the navigation, in its order. A page belongs to one of them. */
const places = [
  { path: '/app', label: 'Overview' },
  { path: '/app/devices', label: 'Devices' },
] as const;

type Place = (typeof places)[number]['path'];

interface OwnerPage {
  readonly title: string;
  readonly place: Place;
  readonly body: Html;
}

/** A signed-in request. */
export interface Visit {
  readonly session: OwnerSession;
  readonly request: FastifyRequest;
  readonly address: string;
  /** The hidden field of every form on the page. */
  readonly field: Html;
}

/** Every page and every form of the signed-in owner goes through here. */
export interface Shell {
  /** A visitor without a session is sent to sign in, and then comes back. */
  page(path: string, render: (visit: Visit) => Promise<OwnerPage>): void;
  /** Changes something and answers where to go next. Throws a problem to say why not. */
  form(path: string, change: (visit: Visit, fields: Fields) => Promise<string>): void;
}

export const sessionCookie = 'session';

export function createShell(app: FastifyInstance, parts: ShellParts): Shell {
  const { db, secrets, context } = parts;

  async function findVisit(request: FastifyRequest): Promise<Visit | undefined> {
    const token = readCookie(parts, request, sessionCookie);
    const session = token === undefined ? undefined : await findSession(db, secrets, token);
    if (token === undefined || session === undefined) return undefined;
    return { session, request, address: addressOf(request), field: formField(parts, token) };
  }

  function toSignIn(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const next = request.method === 'GET' ? `?next=${encodeURIComponent(request.url)}` : '';
    return reply.redirect(`${context().base}/sign-in${next}`, 303);
  }

  return {
    page(path, render) {
      app.get(path, async (request, reply) => {
        const visit = await findVisit(request);
        if (visit === undefined) return toSignIn(request, reply);
        return sendOwn(reply, ownerLayout(await render(visit), visit, context()));
      });
    },
    form(path, change) {
      app.post(path, async (request, reply) => {
        const visit = await findVisit(request);
        if (visit === undefined) return toSignIn(request, reply);
        const fields = requireOwnForm(parts, request, readCookie(parts, request, sessionCookie));
        return reply.redirect(`${context().base}${await change(visit, fields)}`, 303);
      });
    },
  };
}

/** Signs this browser out, or all of them. */
export function addSignOut(app: FastifyInstance, parts: ShellParts): void {
  const { db, secrets, context } = parts;
  app.post('/sign-out', async (request, reply) => {
    const token = readCookie(parts, request, sessionCookie);
    const fields = requireOwnForm(parts, request, token);
    const session = token === undefined ? undefined : await findSession(db, secrets, token);
    if (session !== undefined)
      await signOut(parts, session, { everywhere: fields['from'] === 'everywhere', address: addressOf(request) });
    setCookie(parts, reply, sessionCookie, '');
    return reply.redirect(`${context().base}/sign-in`, 303);
  });
}

async function signOut(
  { db }: ShellParts,
  session: OwnerSession,
  { everywhere, address }: { readonly everywhere: boolean; readonly address: string },
): Promise<void> {
  const { accountId } = session;
  await db.transaction(async (tx) => {
    const sessions = everywhere ? await endAllSessions(tx, accountId) : Number(await endSession(tx, session));
    if (sessions > 0)
      await recordAudit(tx, { accountId, action: 'session.ended', by: { address }, details: { sessions } });
  });
}

/** Problems become pages. Our own faults stay with the handler that logs them. */
export function addProblemPages(app: FastifyInstance, context: () => PageContext): void {
  const send = (reply: FastifyReply, { status, title, message }: Pick<Problem, 'status' | 'title' | 'message'>) => {
    const text: Part = html`${message} <a href="${context().base}/app">Back to the overview</a>`;
    return sendOwn(reply.code(status), sayingPage({ ...frame, heading: title, text }, context()));
  };
  app.setErrorHandler(async (error, request, reply) => {
    const problem = toProblem(error);
    if (problem.status === 500) throw error;
    request.refusedWith = problem.code;
    return send(reply.headers(problem.extras.headers ?? {}), problem);
  });
  for (const path of ['/app/*', '/sign-out']) {
    app.get(path, async (_request, reply) =>
      send(reply, { status: 404, title: 'Page not found', message: 'There is no page at this address.' }),
    );
  }
}

const frame = { name: 'app', styles: ['app.css'], plain: true } as const;

/** With `no-referrer`, which all other responses have, browsers leave the Origin out of forms. */
export function sendOwn(reply: FastifyReply, page: Html): FastifyReply {
  return sendPrivate(reply.header('Referrer-Policy', 'same-origin'), page, formPolicy);
}

function ownerLayout({ title, place, body }: OwnerPage, { session, field }: Visit, context: PageContext): Html {
  const { base } = context;
  const bar = html`<nav class="places" aria-label="Account">${places.map(
    ({ path, label }) => html`<a href="${base}${path}"${path === place && html` aria-current="page"`}>${label}</a>`,
  )}</nav>
<form class="sign-out" method="post" action="${base}/sign-out">${field}<button class="quiet">Sign out</button></form>`;
  const page = { ...frame, title: `${title} – ${session.name}`, description: title, unlisted: true, bar } as const;
  return layout(
    {
      ...page,
      body: html`
<main id="main">
${body}
</main>`,
    },
    context,
  );
}
