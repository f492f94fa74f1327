/** Ollama's error object: words and nothing else. */
import type { ClientError } from '../codec.ts';

export const encodeError = (error: ClientError): unknown => ({ error: error.message });

export const encodeStreamError = (error: ClientError): string => `data: ${JSON.stringify(encodeError(error))}\n\n`;
