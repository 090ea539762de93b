import { type DestinationStream, type Logger, destination as openDestination, pino, stdTimeFunctions } from 'pino';
import { redactText } from './redact.ts';

export type { Logger } from 'pino';

/** Names of fields that may never be written out, wherever in a log line they stand (three levels deep). */
const secretFields = [
  'authorization',
  'password',
  'currentPassword',
  'newPassword',
  'token',
  'apiKey',
  'email',
  'phone',
  'code',
  'secret',
  'signature',
  'to',
  'text',
];

const redactPaths = secretFields.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

export function createLogger(level: string, destination?: DestinationStream): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      redact: { paths: redactPaths, censor: '[redacted]' },
      serializers: { err: describeError },
      formatters: { level: (label) => ({ level: label }) },
      // A message may quote what somebody else wrote, such as a mail server that names the recipient it refuses.
      hooks: {
        logMethod(args, method) {
          method.apply(this, args.map((arg) => (typeof arg === 'string' ? redactText(arg) : arg)) as typeof args);
        },
      },
    },
    destination ?? openDestination({ fd: 1, sync: false }),
  );
}

/** An error's text may quote what a user sent, and a database error's `detail` always does: it is left out. */
function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: redactText(String(error)) };
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    ...(typeof code === 'string' && { errorCode: code }),
    message: redactText(error.message),
    stack: redactText(error.stack ?? ''),
    ...(error.cause !== undefined && { cause: describeError(error.cause) }),
  };
}
