import { z } from 'zod';
import { readMoment } from './read-moment.ts';

/** A moment in a request, in any form of ISO 8601. */
export const momentField = z.string().transform((text, context) => {
  const moment = text.length > 80 ? undefined : readMoment(text);
  if (moment === undefined) {
    context.addIssue('must be a date or a date and time that exists, such as 2027-01-31 or 2027-01-31T12:00:00Z');
  }
  return moment ?? z.NEVER;
});

/** For the description of such a field. */
export const momentForms =
  'A date and time of ISO 8601, in UTC where it names no time zone. A date alone is the end of that day, UTC.';
