"""Geometry: angles, lengths, areas, coordinates, circles, solids and vectors."""

FAMILIES: dict[str, str] = {
    "circle-angles": "circle_angles:CircleAngles",
    "circle-equation": "circle_equation:CircleEquation",
    "circle-sector": "circle_sector:CircleSector",
    "exact-trigonometry": "exact_trigonometry:ExactTrigonometry",
    "integer-triangles": "integer_triangles:IntegerTriangles",
    "lattice-points": "lattice_points:LatticePoints",
    "law-of-cosines": "law_of_cosines:LawOfCosines",
    "line-equation": "line_equation:LineEquation",
    "plane-equation": "plane_equation:PlaneEquation",
    "point-distance": "point_distance:PointDistance",
    "point-images": "point_images:PointImages",
    "point-line-distance": "point_line_distance:PointLineDistance",
    "polygon-angles": "polygon_angles:PolygonAngles",
    "polygon-area": "polygon_area:PolygonArea",
    "quadrilateral-type": "quadrilateral_type:QuadrilateralType",
    "right-triangle-sides": "right_triangle_sides:RightTriangleSides",
    "section-point": "section_point:SectionPoint",
    "similar-figures": "similar_figures:SimilarFigures",
    "solid-volume": "solid_volume:SolidVolume",
    "transformation-matrix": "transformation_matrix:TransformationMatrix",
    "triangle-centre": "triangle_centre:TriangleCentre",
    "triangle-lines": "triangle_lines:TriangleLines",
    "triangle-radii": "triangle_radii:TriangleRadii",
    "vector-products": "vector_products:VectorProducts",
}
"""Name to ``module:Class`` in this package."""
