import type { Config } from './config.ts';

export function welcome({ mode, dataDir, databaseUrl }: Config, publicUrl: string): string {
  if (mode === 'live') return `Paywright is live at ${publicUrl}/api`;
  return `
  Paywright is ready. This is a sandbox: the money is not real.

    API        ${publicUrl}/api
    Reference  ${publicUrl}/docs
    State      ${databaseUrl === undefined ? dataDir : 'in the database that DATABASE_URL names'}

  Open an account:

    curl -s ${publicUrl}/api/agent/register \\
      -H 'Content-Type: application/json' \\
      -d '{"email":"ada@example.com","password":"correct horse","name":"Ada"}'

  Press Ctrl-C to stop. LOG_LEVEL=info logs every request.
`;
}
