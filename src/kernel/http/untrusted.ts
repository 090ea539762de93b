import { z } from 'zod';

/**
 * Text in an answer that somebody else has written: another account, a shop, a seller. The description of the API marks it, so
 * that an agent takes it for what somebody says and never for what it is told to do.
 */
export const untrusted = z.string().meta({ 'x-untrusted': true });
