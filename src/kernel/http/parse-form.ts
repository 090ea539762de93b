import type { FastifyInstance } from 'fastify';
import { httpErrors } from './errors.ts';
import { refuseUnstorableText } from './parse-body.ts';

export type Fields = Readonly<Record<string, string>>;

function notAForm(): Error {
  return httpErrors.unsupported_media_type(
    'The request body was not sent as a form. Send one with the header "Content-Type: application/x-www-form-urlencoded".',
  );
}

/** For endpoints that take forms and nothing else. Every field is text that can be stored. */
export function readForms(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, text, done) => {
    try {
      const fields = Object.fromEntries(new URLSearchParams(String(text)));
      for (const value of Object.values(fields)) refuseUnstorableText(value);
      done(null, fields);
    } catch (error) {
      done(error as Error);
    }
  });
  app.addContentTypeParser('*', (_request, _body, done) => done(notAForm()));
}
