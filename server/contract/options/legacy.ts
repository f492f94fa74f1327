/** Kept for clients that still ask for them. */
import { integer } from '../option-kinds.ts';
import { option } from './row.ts';

export const legacyOptions = {
  FileUploadPermission: option({
    kind: integer(0),
    fallback: '0',
    tab: 'legacy',
    panel: 'legacy',
    label: { zh: '文件上传权限', en: 'File upload permission' },
    help: { zh: '为导入的设置保留，本网关不使用。', en: 'Kept for imported settings; not used here.' },
  }),
  FileDownloadPermission: option({
    kind: integer(0),
    fallback: '0',
    tab: 'legacy',
    panel: 'legacy',
    label: { zh: '文件下载权限', en: 'File download permission' },
    help: { zh: '为导入的设置保留，本网关不使用。', en: 'Kept for imported settings; not used here.' },
  }),
  ImageUploadPermission: option({
    kind: integer(0),
    fallback: '0',
    tab: 'legacy',
    panel: 'legacy',
    label: { zh: '图片上传权限', en: 'Image upload permission' },
    help: { zh: '为导入的设置保留，本网关不使用。', en: 'Kept for imported settings; not used here.' },
  }),
  ImageDownloadPermission: option({
    kind: integer(0),
    fallback: '0',
    tab: 'legacy',
    panel: 'legacy',
    label: { zh: '图片下载权限', en: 'Image download permission' },
    help: { zh: '为导入的设置保留，本网关不使用。', en: 'Kept for imported settings; not used here.' },
  }),
} as const;
