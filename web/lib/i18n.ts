/** Two languages; the one that is read is loaded, and the choice is remembered. */
import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import type { zh } from '../locales/zh.ts';

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'translation';
    resources: { translation: typeof zh };
  }
}

export type ReadLanguage = 'zh' | 'en';

const storageKey = 'i18nextLng';
const loaders = {
  zh: async () => (await import('../locales/zh.ts')).zh,
  en: async () => (await import('../locales/en.ts')).en,
} as const;

async function use(language: ReadLanguage): Promise<void> {
  if (!i18next.hasResourceBundle(language, 'translation'))
    i18next.addResourceBundle(language, 'translation', await loaders[language]());
  await i18next.changeLanguage(language);
  document.documentElement.lang = language;
}

/** @returns when there are words to show. */
export async function startLanguage(): Promise<void> {
  await i18next.use(initReactI18next).init({
    resources: {},
    fallbackLng: false,
    partialBundledLanguages: true,
    interpolation: { escapeValue: false },
  });
  const chosen = localStorage.getItem(storageKey) ?? navigator.language.toLowerCase();
  await use(chosen.startsWith('zh') ? 'zh' : 'en');
}

export function setLanguage(language: ReadLanguage): void {
  localStorage.setItem(storageKey, language);
  void use(language);
}

export const currentLanguage = (): ReadLanguage => (i18next.language === 'en' ? 'en' : 'zh');
