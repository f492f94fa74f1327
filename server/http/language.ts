/** Which of the two languages a caller reads best. */
import type { Request } from 'express';
import type { Language } from '../contract/enums.ts';

/** First of zh and en in the order of preference the caller states; Chinese when neither is named. */
export function languageOf(request: Request): Language {
  const wanted = (request.header('accept-language') ?? '')
    .split(',')
    .map((part) => {
      const [tag = '', ...parameters] = part.trim().toLowerCase().split(';');
      const weight = parameters.map((parameter) => /^\s*q=([\d.]+)/.exec(parameter)?.[1]).find((q) => q !== undefined);
      return { language: tag.trim().split('-')[0], weight: Number(weight ?? 1) };
    })
    .filter(({ language, weight }) => (language === 'zh' || language === 'en') && weight > 0)
    .sort((a, b) => b.weight - a.weight);
  return wanted[0]?.language === 'en' ? 'en' : 'zh';
}
