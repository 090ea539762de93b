import { z } from 'zod';
import { readMoment } from './read-moment.ts';

export const momentField = z.string().transform((text, context) => {
  const moment = text.length > 80 ? undefined : readMoment(text);
  if (moment === undefined) {
    context.addIssue('must be a valid date or date and time, such as 2027-01-31 or 2027-01-31T12:00:00Z');
  }
  return moment ?? z.NEVER;
});

export const momentForms =
  'An ISO 8601 date and time, in UTC unless it has a time zone. A date alone means the end of that day in UTC.';
