"""Geometry: angles, lengths, areas, coordinates, circles, solids and vectors."""

FAMILIES: dict[str, str] = {
    "circle-angles": "circle_angles:CircleAngles",
    "circle-equation": "circle_equation:CircleEquation",
    "circle-sector": "circle_sector:CircleSector",
    "lattice-points": "lattice_points:LatticePoints",
    "law-of-cosines": "law_of_cosines:LawOfCosines",
    "line-equation": "line_equation:LineEquation",
    "point-distance": "point_distance:PointDistance",
    "point-line-distance": "point_line_distance:PointLineDistance",
    "polygon-angles": "polygon_angles:PolygonAngles",
    "polygon-area": "polygon_area:PolygonArea",
    "right-triangle-sides": "right_triangle_sides:RightTriangleSides",
    "section-point": "section_point:SectionPoint",
    "solid-volume": "solid_volume:SolidVolume",
    "triangle-centre": "triangle_centre:TriangleCentre",
    "triangle-lines": "triangle_lines:TriangleLines",
    "triangle-radii": "triangle_radii:TriangleRadii",
}
"""Name to ``module:Class`` in this package."""
