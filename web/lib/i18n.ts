/** The language that is read is loaded, and the choice is remembered. */
import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import type { Language } from '../../server/contract/enum.ts';
import type { zh } from '../locales/zh.ts';

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'translation';
    resources: { translation: typeof zh };
  }
}

const storageKey = 'i18nextLng';

interface PageLanguage {
  readonly name: string;
  /** Texts by their keys; English stands in for what another language lacks. */
  readonly load: () => Promise<object>;
}

/** Languages of the pages. What rows of the contract say in another one lies in server/contract/languages. */
export const pageLanguages: Record<string, PageLanguage> = {
  zh: { name: '\u4e2d\u6587', load: async () => (await import('../locales/zh.ts')).zh },
  en: { name: 'English', load: async () => (await import('../locales/en.ts')).en },
};

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
  const selected = localStorage.getItem(storageKey) ?? navigator.language.toLowerCase();
  const [language = ''] = selected.split('-');
  await use(Object.hasOwn(pageLanguages, language) ? language : 'en');
}

export function setLanguage(language: Language): void {
  localStorage.setItem(storageKey, language);
  void use(language);
}

export const currentLanguage = (): Language => i18next.language ?? 'zh';
