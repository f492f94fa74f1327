/** Texts in a reader's language. Rows keep Chinese and English; other languages are overlays keyed by the English text. */
import type { Language, Text } from './enum.ts';
import { languageFiles } from './languages/index.ts';

interface Overlay {
  readonly texts: ReadonlyMap<string, string>;
  /** Texts that were filled in where they are written: `{}` stands for what varies. */
  readonly patterns: readonly { readonly matches: RegExp; readonly text: string }[];
}

const overlays = new Map<string, Overlay>();

/** @param texts by the English text: `{name}` and `{}` stand for what varies, the latter in the same order. */
export function registerLanguage(code: string, texts: Readonly<Record<string, string>>): void {
  const patterns = Object.entries(texts)
    .filter(([english]) => english.includes('{}') && /\p{L}/u.test(english))
    // The one that says most comes first.
    .sort(([one], [other]) => other.length - one.length)
    .map(([english, text]) => ({
      matches: new RegExp(`^${english.split('{}').map(RegExp.escape).join('([\\s\\S]*?)')}$`),
      text,
    }));
  overlays.set(code, { texts: new Map(Object.entries(texts)), patterns });
}

for (const [code, texts] of Object.entries(languageFiles)) registerLanguage(code, texts);

export const isLanguage = (code: string | undefined): code is Language =>
  code === 'zh' || code === 'en' || (code !== undefined && overlays.has(code));

/** English where the overlay has a gap. */
function translated(english: string, language: string): string {
  const overlay = overlays.get(language);
  const whole = overlay?.texts.get(english);
  if (overlay === undefined || whole !== undefined) return whole ?? english;
  for (const { matches, text } of overlay.patterns) {
    const [, ...values] = matches.exec(english) ?? [];
    let at = 0;
    if (values.length > 0) return text.replaceAll('{}', () => values[at++] ?? '');
  }
  return english;
}

export const textIn = ({ zh, en }: Text, language: Language): string =>
  language === 'zh' ? zh : language === 'en' ? en : translated(en, language);

/** First language that we have in the order of preference; null when none is named. @param header Accept-Language. */
export function languageNamed(header: string | null | undefined): Language | null {
  const preferred = (header ?? '')
    .split(',')
    .map((part) => {
      const [tag = '', ...parameters] = part.trim().toLowerCase().split(';');
      const weight = parameters.map((parameter) => /^\s*q=([\d.]+)/.exec(parameter)?.[1]).find((q) => q !== undefined);
      return { language: tag.trim().split('-')[0], weight: Number(weight ?? 1) };
    })
    .filter(({ language, weight }) => isLanguage(language) && weight > 0)
    .sort((a, b) => b.weight - a.weight);
  const first = preferred[0]?.language;
  return isLanguage(first) ? first : null;
}

/** The language that a user saved; null = none. @param setting the user's `setting`, parsed. */
export function savedLanguage(setting: Readonly<Record<string, unknown>> | undefined): Language | null {
  const saved = setting?.language;
  return typeof saved === 'string' && isLanguage(saved) ? saved : null;
}

/** The language of a message to a client: the one it names, else the one that the user saved, else English. @param header Accept-Language. */
export const languageFor = (
  header: string | null | undefined,
  setting: Readonly<Record<string, unknown>> | undefined,
): Language => languageNamed(header) ?? savedLanguage(setting) ?? 'en';
