/** Two languages, loaded up front because both are small; the choice is remembered. */
import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import { en } from '../locales/en.ts';
import { zh } from '../locales/zh.ts';

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'translation';
    resources: { translation: typeof zh };
  }
}

const storageKey = 'i18nextLng';
const initial = localStorage.getItem(storageKey) ?? (navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en');

void i18next.use(initReactI18next).init({
  lng: initial.startsWith('zh') ? 'zh' : 'en',
  fallbackLng: 'zh',
  resources: { zh: { translation: zh }, en: { translation: en } },
  interpolation: { escapeValue: false },
});

const mark = (language: string) => {
  document.documentElement.lang = language;
};
mark(i18next.language);

export function setLanguage(language: 'zh' | 'en'): void {
  localStorage.setItem(storageKey, language);
  void i18next.changeLanguage(language);
  mark(language);
}

export const currentLanguage = (): 'zh' | 'en' => (i18next.language.startsWith('zh') ? 'zh' : 'en');
