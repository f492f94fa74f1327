/** How a practice upstream shows what it is: a real provider does not know the answer. */
import { createHash } from 'node:crypto';

export const proofPath = '/practice';

export const proofOf = (nonce: string): string =>
  createHash('sha256').update(`gateway practice ${nonce}`).digest('hex');
