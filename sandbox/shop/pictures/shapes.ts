/** The signed distance of a point from a shape; negative inside. Coordinates run from −1 to 1, right and down. */
export type Shape = (x: number, y: number) => number;

export const circle =
  (cx: number, cy: number, radius: number): Shape =>
  (x, y) =>
    Math.hypot(x - cx, y - cy) - radius;

export const ellipse =
  (cx: number, cy: number, rx: number, ry: number): Shape =>
  (x, y) => {
    const [dx, dy] = [(x - cx) / rx, (y - cy) / ry];
    const length = Math.hypot(dx, dy);
    // An approximation that is good enough for a smooth edge.
    const slope = Math.hypot(dx / rx, dy / ry) || 1;
    return (length * (length - 1)) / slope;
  };

export const box =
  (cx: number, cy: number, halfWidth: number, halfHeight: number, rounding = 0): Shape =>
  (x, y) => {
    const dx = Math.abs(x - cx) - halfWidth + rounding;
    const dy = Math.abs(y - cy) - halfHeight + rounding;
    return Math.hypot(Math.max(dx, 0), Math.max(dy, 0)) + Math.min(Math.max(dx, dy), 0) - rounding;
  };

export const stroke =
  (x1: number, y1: number, x2: number, y2: number, halfWidth: number): Shape =>
  (x, y) => {
    const [dx, dy] = [x2 - x1, y2 - y1];
    const along = Math.min(1, Math.max(0, ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1)));
    return Math.hypot(x - x1 - dx * along, y - y1 - dy * along) - halfWidth;
  };

/** An upright shape whose width changes from top to bottom. */
export const tapered =
  (cx: number, top: number, bottom: number, halfTop: number, halfBottom: number, rounding = 0.06): Shape =>
  (x, y) => {
    const along = Math.min(1, Math.max(0, (y - top) / (bottom - top)));
    const half = halfTop + (halfBottom - halfTop) * along;
    const lean = Math.hypot(1, (halfBottom - halfTop) / (bottom - top));
    const dx = (Math.abs(x - cx) - half + rounding) / lean;
    const dy = Math.max(top - y, y - bottom) + rounding;
    return Math.hypot(Math.max(dx, 0), Math.max(dy, 0)) + Math.min(Math.max(dx, dy), 0) - rounding;
  };

export const ring =
  (cx: number, cy: number, radius: number, halfWidth: number): Shape =>
  (x, y) =>
    Math.abs(Math.hypot(x - cx, y - cy) - radius) - halfWidth;

export const together =
  (...shapes: readonly Shape[]): Shape =>
  (x, y) => {
    let nearest = Number.POSITIVE_INFINITY;
    for (const shape of shapes) nearest = Math.min(nearest, shape(x, y));
    return nearest;
  };

export const within =
  (...shapes: readonly Shape[]): Shape =>
  (x, y) => {
    let farthest = Number.NEGATIVE_INFINITY;
    for (const shape of shapes) farthest = Math.max(farthest, shape(x, y));
    return farthest;
  };

export const without =
  (shape: Shape, hole: Shape): Shape =>
  (x, y) =>
    Math.max(shape(x, y), -hole(x, y));

export const below =
  (edge: number): Shape =>
  (_x, y) =>
    edge - y;

export const above =
  (edge: number): Shape =>
  (_x, y) =>
    y - edge;
