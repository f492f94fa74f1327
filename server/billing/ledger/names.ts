/** How the ledger's thread, and the lines to it, are called. */

import { reasonText } from '../../contract/storage-reasons.ts';

/** Comes with its start. */
export const controlName = 'control';
export const relayName = (thread: number): string => `relay ${thread}`;

/** Why nothing is written when its thread is no more. */
export const ledgerGone = reasonText('ledger_gone');
