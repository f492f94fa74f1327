/** Which of the two languages somebody reads, as a header says it. */
import type { Language } from './enums.ts';

/** First of zh and en in the order of preference; null when neither is named. @param header Accept-Language. */
export function languageNamed(header: string | null | undefined): Language | null {
  const wanted = (header ?? '')
    .split(',')
    .map((part) => {
      const [tag = '', ...parameters] = part.trim().toLowerCase().split(';');
      const weight = parameters.map((parameter) => /^\s*q=([\d.]+)/.exec(parameter)?.[1]).find((q) => q !== undefined);
      return { language: tag.trim().split('-')[0], weight: Number(weight ?? 1) };
    })
    .filter(({ language, weight }) => (language === 'zh' || language === 'en') && weight > 0)
    .sort((a, b) => b.weight - a.weight);
  const first = wanted[0]?.language;
  return first === 'en' || first === 'zh' ? first : null;
}

/** One text for whoever names a language; programs that name none get both. */
export function inWanted(words: Readonly<Record<Language, string>>, header: string | null | undefined): string {
  const language = languageNamed(header);
  return language === null ? `${words.en} / ${words.zh}` : words[language];
}
