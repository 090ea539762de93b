import type { Chapter } from './openapi.ts';

/** The chapters of the reference, in reading order. */
export const chapters: readonly Chapter[] = [
  { name: 'Accounts', description: 'Register, sign in, look others up, and look after your own account.' },
  { name: 'Transfers', description: 'Pay somebody, see what you have and where it went.' },
  { name: 'Service', description: 'The service about itself.' },
  { name: 'Sandbox', description: 'Only in the sandbox: what stands in for the outside world.' },
];
