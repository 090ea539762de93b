import type { Chapter } from './openapi.ts';

/** The chapters of the reference, in reading order. */
export const chapters: readonly Chapter[] = [
  { name: 'Accounts', description: 'Register, sign in, look others up, and look after your own account.' },
  { name: 'Transfers', description: 'Pay somebody, see what you have and where it went.' },
  { name: 'Invoices', description: 'Ask somebody to pay you, and pay what you are asked for.' },
  { name: 'Wallets', description: 'Where you are paid into from outside, and what has arrived.' },
  { name: 'Withdrawals', description: 'Send money to an address outside, and follow it.' },
  { name: 'Webhooks', description: 'Be told of what happens, and see what you were told.' },
  { name: 'Reserves', description: 'Proof that the service holds what it owes.' },
  { name: 'Service', description: 'The service about itself.' },
  { name: 'Sandbox', description: 'Only in the sandbox: what stands in for the outside world.' },
];
