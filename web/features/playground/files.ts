/** Files that are pasted, dropped or picked, as a message carries them. */
import type { Attachment } from './conversation.ts';

/** Bytes of one file. */
const maxBytes = 20 * 1024 * 1024;
const textual = /^text\/|json|xml|yaml|javascript|typescript|sql|csv|markdown/;
const textNames = /\.(txt|md|csv|json|ya?ml|ts|tsx|js|jsx|py|go|rs|java|c|h|cpp|sql|sh|html|css|log|toml)$/i;

const dataUrl = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error(file.name));
    reader.readAsDataURL(file);
  });

/** @returns the files that can be sent; those that are too large are left out. */
export async function attachmentsOf(files: readonly File[]): Promise<readonly Attachment[]> {
  const fitting = files.filter(({ size }) => size <= maxBytes);
  return Promise.all(
    fitting.map(async (file): Promise<Attachment> => {
      const { name, type } = file;
      if (type.startsWith('image/')) return { name, kind: 'image', data: await dataUrl(file) };
      if (textual.test(type) || textNames.test(name)) return { name, kind: 'text', data: await file.text() };
      return { name, kind: 'file', data: await dataUrl(file) };
    }),
  );
}
