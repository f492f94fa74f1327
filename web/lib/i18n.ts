/** The language that is read is loaded, and the choice is remembered. */
import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import type { Language } from '../../server/contract/enum.ts';
import type { zh } from '../locales/zh.ts';
import { languageKey, pageLanguages, selectedLanguage } from './page-languages.ts';

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'translation';
    resources: { translation: typeof zh };
  }
}

async function load(language: string): Promise<void> {
  if (!i18next.hasResourceBundle(language, 'translation'))
    i18next.addResourceBundle(language, 'translation', await pageLanguages[language]?.load());
}

async function use(language: string): Promise<void> {
  await load(language);
  if (language !== 'zh') await load('en');
  await i18next.changeLanguage(language);
  document.documentElement.lang = language;
}

/** @returns when there are words to show. */
export async function startLanguage(): Promise<void> {
  await i18next.use(initReactI18next).init({
    resources: {},
    fallbackLng: 'en',
    partialBundledLanguages: true,
    interpolation: { escapeValue: false },
  });
  await use(selectedLanguage());
}

export function setLanguage(language: Language): void {
  localStorage.setItem(languageKey, language);
  void use(language);
}

export const currentLanguage = (): Language => i18next.language ?? 'zh';

/** @returns one text: between sentences of Chinese there is no space. */
export const sentences = (...parts: readonly string[]): string =>
  parts.filter((part) => part !== '').join(currentLanguage() === 'zh' ? '' : ' ');
