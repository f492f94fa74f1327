/** Failures as people and programs read them. */
import type { Language } from '../server/contract/enums.ts';
import { AppError, formatError } from '../server/contract/errors.ts';

export function printError(error: unknown, language: Language, asJson: boolean, write: (text: string) => void): number {
  if (error instanceof AppError) {
    const message = formatError(error.code, error.params, language);
    if (asJson) write(`${JSON.stringify({ error: { code: error.code, message, details: error.params } })}\n`);
    else write(`error: ${message}\n`);
    return error.row.exit;
  }
  const text = error instanceof Error ? error.message : String(error);
  if (asJson) write(`${JSON.stringify({ error: { code: 'internal', message: text } })}\n`);
  else write(`error: ${text}\n`);
  return 1;
}
