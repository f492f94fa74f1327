/** The turns of a conversation where the dialect calls them messages. */
import { AppError } from '../../contract/errors.ts';
import { type Json, records } from './json.ts';

/** @throws AppError body_invalid where they are no list. */
export function turnsOf({ messages }: Json): readonly Record<string, unknown>[] {
  if (!Array.isArray(messages)) throw new AppError('body_invalid', { detail: 'messages must be a list' });
  return records(messages);
}
