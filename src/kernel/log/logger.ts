import { type DestinationStream, type Logger, destination as openDestination, pino, stdTimeFunctions } from 'pino';
import { redactText } from './redact.ts';

export type { Logger } from 'pino';

/** Fields that are never logged, up to three levels deep. */
const secretFields =
  'authorization password currentPassword newPassword token apiKey email phone code secret signature to text'.split(
    ' ',
  );

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
      // A message may quote a third party, such as a mail server that names the recipient it refuses.
      hooks: {
        logMethod(args, method) {
          method.apply(this, args.map((arg) => (typeof arg === 'string' ? redactText(arg) : arg)) as typeof args);
        },
      },
    },
    destination ?? openDestination({ fd: 1, sync: false }),
  );
}

/** An error's message may quote user input. A database error's `detail` always does, so it is omitted. */
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
