import { z } from 'zod';

/**
 * Text in a response that a third party wrote: another account, a shop, a seller. OpenAPI marks it, so that an agent
 * treats it as data and never as an instruction.
 */
export const untrusted = z.string().meta({ 'x-untrusted': true });
