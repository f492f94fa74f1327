/** Markdown (and the HTML inside it) without anything that runs. Loaded when first needed. */
import DOMPurify from 'dompurify';
import { parse } from 'marked';

export const toSafeHtml = (text: string): string =>
  DOMPurify.sanitize(parse(text, { async: false, gfm: true, breaks: true }), {
    FORBID_TAGS: ['style', 'form', 'iframe', 'object'],
    FORBID_ATTR: ['style'],
  });
