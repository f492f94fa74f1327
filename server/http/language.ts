/** Which of the two languages a caller reads best. */
import type { Request } from 'express';
import type { Language } from '../contract/enums.ts';
import { languageNamed } from '../contract/language.ts';

/** First of zh and en in the order of preference the caller states; Chinese when neither is named. */
export const languageOf = (request: Request): Language => languageNamed(request.header('accept-language')) ?? 'zh';
